"""Every message between the browser and the kernel; `labextension/src/protocol/messages.ts` is
generated from here.

The browser sends one request, with an id of its own; it gets exactly one reply with that id. A
refusal is a reply too. Before a reply that takes its time may come `Working`s with the same id; one
that is too large for a message comes as `Piece`s. Numbers travel beside the reply as one binary
buffer whose layout `fields` gives. `codec` reads and writes.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
