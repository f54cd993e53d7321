from .networkx_extras import pack_extras as pack_extras
