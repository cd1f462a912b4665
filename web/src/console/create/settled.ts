import { useEffect, useRef, useState } from "preact/hooks";

/** useSettled returns a value that has not changed for some milliseconds, for requests while a person types. */
export function useSettled<T>(value: T, after: number): T {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(() => value), after);
    return () => clearTimeout(timer);
  }, [value, after]);
  return settled;
}

/** useVersion is a number that changes with the identity of a value, as a small thing to compare. */
export function useVersion(value: unknown): number {
  const known = useRef({ value, version: 0 });
  if (known.current.value !== value) known.current = { value, version: known.current.version + 1 };
  return known.current.version;
}
