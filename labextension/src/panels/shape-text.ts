// Shapes in the panels are written as in the drawing, ?×28×28×1, which the kernel sends as
// TensorFlow prints them.

/**
 * "float32 (None, 28, 1)" as "float32 ?×28×1"; a shape without sizes as "scalar". Python twin:
 * sentences.py.
 */
export function withDrawnShapes(text: string): string {
  return text
    .replace(/(^|\s)\(\)/g, "$1scalar")
    .replace(
      /(^|\s)\(((?:None|\d+)(?:, (?:None|\d+))*),?\)/g,
      (_, before: string, sizes: string) => {
        return before + sizes.replaceAll("None", "?").replaceAll(", ", "×");
      },
    );
}
