// JupyterLab's settings, as the widgets on the page ask for them: they know nothing of JupyterLab.
import type { ISettingRegistry } from "@jupyterlab/settingregistry";
import { SETTINGS, SETTINGS_CHANGED } from "../settings";

/** Answer what views ask, now and after each change; until the settings are there nothing is filled in. */
export async function answerSettings(registry: ISettingRegistry, plugin: string): Promise<void> {
  let known: object = {};
  document.addEventListener(SETTINGS, (event) => Object.assign((event as CustomEvent).detail, known));
  const settings = await registry.load(plugin);
  const read = () => {
    known = settings.composite;
    document.dispatchEvent(new CustomEvent(SETTINGS_CHANGED));
  };
  settings.changed.connect(read);
  read();
}
