"""Puts a list of calls to a SessionDB and prints what they returned. Run with either program.

Arguments: the file, the module that has the class, and the calls as JSON: name, positional
arguments, keyword arguments. An error is an answer, too: its kind.
"""

import importlib
import json
import sys
from pathlib import Path


def main():
    path, module, calls = sys.argv[1:]
    db = importlib.import_module(module).SessionDB(Path(path))
    answers = []
    for name, args, kwargs in json.loads(calls):
        try:
            answers.append(getattr(db, name)(*args, **kwargs))
        except Exception as error:
            kinds = [kind.__name__ for kind in type(error).__mro__]
            answers.append(next(k for k in kinds if k in ("TypeError", "ValueError", "Exception")))
    db.close()
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
