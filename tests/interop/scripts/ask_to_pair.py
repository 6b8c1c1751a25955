"""A stranger writes to the real gateway. Arguments: platform, user id, user name. Prints the code.

With the words ``approved PLATFORM USER`` it prints instead whether that user is let in.
"""

import json
import logging
import sys


def main():
    logging.disable(logging.CRITICAL)
    from gateway.pairing import PairingStore

    store = PairingStore()
    if sys.argv[1] == "approved":
        print(json.dumps(store.is_approved(*sys.argv[2:4])))
    else:
        print(json.dumps(store.generate_code(*sys.argv[1:4])))


if __name__ == "__main__":
    main()
