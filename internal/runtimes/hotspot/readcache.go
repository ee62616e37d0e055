// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// readCache caches pages of the process during a walk or query, between enable and disable. Before a second reading a
// query drops them.
type readCache struct {
	managed.Pages
	process reader
	enabled bool
	since   int64 // before the first read, CLOCK_MONOTONIC ns
}

// reader counts the reads of a process.
type reader struct {
	read  func(addr uint64, b []byte) int
	count int
}

// Read implements [managed.Reader].
func (r *reader) Read(addr uint64, b []byte) int {
	r.count++
	return r.read(addr, b)
}

// enable enables the cache, drops reads before after, and gives the time of the oldest read.
func (k *readCache) enable(after int64) (since int64) {
	if k.enabled = true; k.since == 0 || k.since < after {
		k.drop()
	}
	if k.since == 0 {
		k.since = procmem.Now()
	}
	return k.since
}

func (k *readCache) disable() { k.enabled = false }

func (k *readCache) drop() {
	k.since = 0
	k.Reset(&k.process)
}
