// `instanceof` goes by the identity of a class. Two copies of this library in one process (two versions installed, or one of
// them bundled) have two classes of every name, so errors are known by a mark that all copies share.

/** A class, for what its own `instanceof` needs of it. */
export type ClassOf<T> = abstract new (...args: never[]) => T

/** The mark of a class by its name: the same symbol in every copy of this library. */
export function markOf(name: string): symbol {
  return Symbol.for(`sluice.${name}`)
}

/** `value instanceof asked`, where `marked` is known by its mark and classes that extend it by identity. */
export function isInstance(asked: unknown, value: unknown, marked: unknown, mark: symbol): boolean {
  if (asked === marked) return typeof value === "object" && value !== null && mark in value
  return Function.prototype[Symbol.hasInstance].call(asked as () => void, value)
}
