from .finding import Finding as Finding
from .finding import Report as Report
from .linter import lint as lint
from .rule import Conversion as Conversion
from .rule import LintContext as LintContext
from .rule import Target as Target
from .rule import check_codes as check_codes
