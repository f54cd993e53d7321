from .json_format import EditRecord as EditRecord
from .json_format import document as document
from .json_format import parse as parse
from .json_format import record_of as record_of
from .json_format import records_from as records_from
from .json_format import records_of as records_of
from .python_source import Script as Script
from .python_source import script as script
