// The icon of the extension.
import { LabIcon } from "@jupyterlab/ui-components";

const svgstr = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">
<g class="jp-icon3" fill="#616161">
<path d="M3.6 3.5h1.3v3.2l2.6 2H10v1.2H7.1L3.6 7.3zM11.1 3.5h1.3v3.8L9.7 9.4l-.8-1 2.2-1.7z"/>
<path d="M7.4 9.5h1.2v2.6H7.4z"/>
<rect x="1.5" y="1" width="5.4" height="3.6" rx="1.2"/>
<rect x="9.1" y="1" width="5.4" height="3.6" rx="1.2"/>
<rect x="5.3" y="11.4" width="5.4" height="3.6" rx="1.2"/>
<circle cx="8" cy="8.9" r="1.7"/>
</g>
</svg>`;

export const graphIcon = new LabIcon({ name: "tfgraphwidget:graph", svgstr });
