// The form that clones the selection: name scope, variables, values, options. Shown while something
// is selected.
import type { CloneForm } from "../../interaction/actions";
import type { Parts } from "../../interaction/parts";
import { FORMS, type State } from "../../protocol/messages";
import { FieldSet } from "../controls/fields";
import type { Values } from "../controls/form-fields";
import { disable, element, releaseFocus, uniqueId } from "../dom";
import { createClonePreview, PreviewRequests } from "./clone-preview";

const [INTO, ...OPTIONS] = FORMS.clone;

export function createCloneForm(parts: Parts): HTMLElement {
  const { store, actions } = parts;
  const previewing = new PreviewRequests(store, actions);
  const name = new FieldSet(INTO ? [INTO] : [], parts);
  const options = new FieldSet(OPTIONS, parts);
  const why = element("p", { class: "tgw-hint", id: uniqueId() });
  const attributes = { type: "submit", class: "tgw-primary", "aria-describedby": why.id };
  const submit = element("button", attributes, "Clone");
  const line = element("div", { class: "tgw-clone-line" }, submit, name.root);
  const preview = createClonePreview(parts);
  const form = element("form", { class: "tgw-clone" }, line, why, options.root, preview);
  const root = element("section", { "aria-label": "Clone" }, form);
  let busy = false;
  const value = () => cloneOf({ ...name.values(), ...options.values() });
  const update = () => {
    const { state, panelOpen } = store.value;
    // A closed panel needs no preview, and for a large part a preview keeps the kernel busy.
    previewing.want(state && state.selected_ops > 0 && panelOpen ? value() : null);
    // What cannot be cloned has no options: the reason is all there is to see.
    const refusal = cannotClone(state);
    if (refusal) releaseFocus(options.root);
    options.root.hidden = refusal !== "";
    name.control("into")?.input.toggleAttribute("disabled", refusal !== "");
    why.textContent = submit.title = refusal;
    why.hidden = refusal === "";
    // A second click while the first is under way would be refused, and its refusal would hide the
    // success.
    disable(submit, refusal !== "" || busy);
  };
  form.addEventListener("input", update);
  form.addEventListener("change", update);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    busy = true;
    update();
    // The name is taken now; after a refusal it stays, to be corrected.
    if (await actions.clone(value())) name.control("into")?.fill(store.value.state?.proposal ?? "");
    busy = false;
    update();
  });
  store.watch(["state"], ({ state }) => {
    root.hidden = !state || state.selected_ops === 0 || state.fixed !== "";
    if (!state) return;
    // What the user typed or chose stays until it is used.
    name.propose("into", state.proposal);
    options.propose("init", state.values);
    update();
  });
  store.watch(["panelOpen"], update);
  store.watch(["preview"], ({ preview }) => {
    if (!preview || preview.refusal) return;
    form.toggleAttribute("data-stateless", preview.states_total === 0);
  });
  return root;
}

/** The clone that the fields describe. */
export function cloneOf(values: Values): CloneForm {
  const { into = "", variables, others, init, placeholders, reseed, times, device = "" } = values;
  return {
    into,
    variables: variables as CloneForm["variables"],
    others: JSON.parse(others || "[]"),
    init: init as CloneForm["init"],
    placeholders: placeholders === "True",
    reseed: reseed === "True",
    // one copy needs no number after its name
    times: Number(times) > 1 ? Number(times) : null,
    device,
  };
}

/** Why the selection cannot be cloned, or "". */
export function cannotClone(state: State | null): string {
  return state?.editable ?? "";
}
