// SPDX-License-Identifier: Apache-2.0

// Package cache bounds maps of answers that can be found again.
package cache

// Put adds to a cache. At its limit an arbitrary other entry is dropped.
func Put[K comparable, V any](cache *map[K]V, limit int, key K, v V) {
	if *cache == nil {
		*cache = map[K]V{}
	}
	if _, has := (*cache)[key]; !has && len(*cache) >= limit {
		delete(*cache, Any(*cache))
	}
	(*cache)[key] = v
}

// Any returns the key of an arbitrary entry.
func Any[K comparable, V any](cache map[K]V) (key K) {
	for key = range cache {
		break
	}
	return key
}
