// The primitives of the console, in one place to import from.

export { Act } from "./act.tsx";
export { Advanced } from "./advanced.tsx";
export { Button } from "./button.tsx";
export { copy } from "./copy.ts";
export { Confirm, Dialog } from "./dialog.tsx";
export { Empty, Loading } from "./empty.tsx";
export { FaultBox, FaultText, faultWords, fieldWords, unsure } from "./fault.tsx";
export { Field, SelectField, TextField, type ControlProps } from "./field.tsx";
export { said } from "./said.ts";
export { Badge, Called, Copy, Money, State, Time, type Tone } from "./small.tsx";
export { More, PagedTable, Table, type Column } from "./table.tsx";
export { Tabs, type Tab } from "./tabs.tsx";
export { toast, Toasts } from "./toasts.tsx";
