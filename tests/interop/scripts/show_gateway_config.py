"""Prints the gateway's configuration as hermes-agent reads it. Argument: variables as JSON."""

import json
import logging
import os
import sys


def main():
    os.environ.update(json.loads(sys.argv[1]))
    logging.disable(logging.CRITICAL)
    from gateway.config import load_gateway_config

    print(json.dumps(load_gateway_config().to_dict(), default=str))


if __name__ == "__main__":
    main()
