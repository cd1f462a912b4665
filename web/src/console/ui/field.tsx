import type { ComponentChildren, VNode } from "preact";
import { useId } from "preact/hooks";

/** ControlProps go to the control of a Field. */
export interface ControlProps {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean | undefined;
}

export interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  /** fault is what is wrong, in words; empty when nothing is. */
  fault?: string | undefined;
  wide?: boolean;
  children: (control: ControlProps) => VNode;
}

/** Field is a control with its label, a hint and its fault, connected for screen readers. */
export function Field({ label, hint, fault, wide = false, children }: FieldProps) {
  const id = useId();
  const described = [hint != null && hint !== "" ? `${id}-hint` : "", fault ? `${id}-fault` : ""].filter(Boolean).join(" ");
  return (
    <div class={`field ${wide ? "wide" : ""} ${fault ? "faulty" : ""}`}>
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": described || undefined, "aria-invalid": fault ? true : undefined })}
      {hint != null && hint !== "" && <small class="hint" id={`${id}-hint`}>{hint}</small>}
      {fault && <small class="fault" id={`${id}-fault`}>{fault}</small>}
    </div>
  );
}

export interface TextFieldProps extends Omit<FieldProps, "children"> {
  name: string;
  value: string;
  onInput: (value: string) => void;
  /** kind: decimal brings up the digits on a phone. */
  kind?: "text" | "decimal" | "numeric" | "search";
  unit?: string;
  list?: string;
  placeholder?: string;
  /** readOnly: it is shown, and follows from something else. */
  readOnly?: boolean;
  /** moment asks for a date and a time of day, to the second, in this computer's time zone. */
  moment?: boolean;
}

/** TextField is a Field with one line of text; unit stands behind it ("s", "%", "¥"). */
export function TextField({ name, value, onInput, kind = "text", unit, list, placeholder, readOnly = false, moment = false, ...field }: TextFieldProps) {
  return (
    <Field {...field}>
      {(control) => (
        <span class={unit ? "control measured" : "control"}>
          {moment ? <input {...control} name={name} value={value} type="datetime-local" step={1} onInput={(e) => onInput(e.currentTarget.value)} />
            : <input {...control} name={name} value={value} type="text" inputMode={kind} autocomplete="off" list={list} placeholder={placeholder} readOnly={readOnly} onInput={(e) => onInput(e.currentTarget.value)} />}
          {unit && <span class="unit" aria-hidden="true">{unit}</span>}
        </span>
      )}
    </Field>
  );
}

export interface SelectFieldProps<V extends string> extends Omit<FieldProps, "children"> {
  name: string;
  value: V;
  options: readonly { value: V; label: string }[];
  onChange: (value: V) => void;
}

/** SelectField is a Field with a choice of a few. */
export function SelectField<V extends string>({ name, value, options, onChange, ...field }: SelectFieldProps<V>) {
  return (
    <Field {...field}>
      {(control) => (
        <select {...control} name={name} value={value} onChange={(e) => {
          const chosen = options.find((o) => o.value === e.currentTarget.value);
          if (chosen) onChange(chosen.value);
        }}>
          {options.map((o) => <option key={o.value} value={o.value} selected={o.value === value}>{o.label}</option>)}
        </select>
      )}
    </Field>
  );
}
