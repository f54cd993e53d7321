// A toolbar is one stop of the Tab key: arrows move in it.

/** Buttons of a toolbar, in the order of the page; a text field between them keeps its own arrows and its own stop. */
export function rove(toolbar: HTMLElement): void {
  const stops = () =>
    [...toolbar.querySelectorAll<HTMLButtonElement>("button")].filter(
      (made) => made.getAttribute("role") === null && !made.closest(".tgw-search, [role=menu]"),
    );
  const shown = () => stops().filter((made) => made.offsetParent !== null && !made.disabled);
  const hold = (held: HTMLElement | undefined) => {
    for (const made of stops()) made.tabIndex = made === held ? 0 : -1;
  };
  toolbar.addEventListener("focusin", ({ target }) => {
    if (target instanceof HTMLElement && stops().includes(target as HTMLButtonElement)) hold(target);
  });
  toolbar.addEventListener("keydown", (event) => {
    const all = shown();
    const here = all.indexOf(event.target as HTMLButtonElement);
    const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: -1 }[event.key];
    if (here < 0 || to === undefined) return;
    all[(to + all.length) % all.length]?.focus();
    event.preventDefault();
    event.stopPropagation();
  });
  hold(stops()[0]);
}
