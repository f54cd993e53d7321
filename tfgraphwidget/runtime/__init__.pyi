from .planning import SourceContext as SourceContext
from .planning import plan as plan
from .sandbox.shape_inference import infer_patch_shapes as infer_patch_shapes
