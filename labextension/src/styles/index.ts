// All style sheets as one text, for the <style> element of a view.

import forms from "./forms.css";
import help from "./help.css";
import inspector from "./inspector.css";
import legend from "./legend.css";
import panel from "./panel.css";
import find from "./search.css";
import stage from "./stage.css";
import theme from "./theme.css";

export const styles = [theme, stage, legend, find, inspector, panel, help, forms].join("\n");
