interface MapLike<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): unknown
}

/** The value of a key. If the map does not have the key, creates the value and adds it. */
export function getOrAdd<Key, Value>(map: MapLike<Key, Value>, key: Key, create: () => Value): Value {
  let value = map.get(key)
  if (value === undefined) {
    value = create()
    map.set(key, value)
  }
  return value
}

/** `getOrAdd` for a cache of at most `max` values. A full cache is emptied: a value that is needed again is created again. */
export function getOrCache<Key, Value>(
  cache: Map<Key, Value>,
  key: Key,
  max: number,
  create: () => Value,
): Value {
  return getOrAdd(cache, key, () => {
    const value = create()
    if (cache.size >= max) cache.clear()
    return value
  })
}
