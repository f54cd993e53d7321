from .networkx_extras import surroundings as surroundings
