"""`python -m tools.docs`: write the generated pages, or with `--check` tell which are out of date."""

import sys

from tools.docs.pages import main

if __name__ == "__main__":
    sys.exit(main())
