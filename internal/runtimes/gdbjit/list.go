// SPDX-License-Identifier: Apache-2.0

package gdbjit

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
)

const (
	maxLists   = 8        // of one library each
	maxEntries = 1 << 14  // entries of a list
	maxImage   = 32 << 20 // bytes
	maxKept    = 64 << 20 // bytes of all kept images
	maxCopied  = 64 << 20 // per refresh; the rest follows at the next
	maxGone    = 4096     // images kept for their names
)

const (
	version        = 1
	descriptorSize = 24 // uint32 version, action_flag; pointers relevant_entry, first_entry
	entrySize      = 32 // next_entry, prev_entry, symfile_addr, symfile_size
	// An unchanged list is read again after this many refreshes.
	unchangedRereadEvery = 16
	// The first bytes, which distinguish images at one address.
	hashedBytes = 4096
)

type entry struct {
	at, image, size uint64
	contentHash     uint64 // hash of the image's first bytes
}

type list struct {
	at      uint64
	head    listHead
	skipped int
	entries []entry // newest first
}

type listHead struct {
	descriptor [descriptorSize]byte
	first      [entrySize]byte
}

// readHead returns the zero listHead unless the descriptor has version 1.
func (c *Code) readHead(l *list) (h listHead) {
	if c.host.Read(l.at, h.descriptor[:]) < descriptorSize || binary.LittleEndian.Uint32(h.descriptor[:]) != version {
		return listHead{}
	}
	if first := h.firstEntry(); first != 0 && c.host.Read(first, h.first[:]) < entrySize {
		h.first = [entrySize]byte{}
	}
	return h
}

func (h *listHead) firstEntry() uint64 { return binary.LittleEndian.Uint64(h.descriptor[16:]) }

func (c *Code) stale(l *list) (listHead, bool) {
	h := c.readHead(l)
	if h == l.head {
		if l.skipped++; l.skipped < unchangedRereadEvery || h.firstEntry() == 0 {
			return h, false
		}
	}
	l.skipped = 0
	return h, true
}

// walk ends at the end, a cycle or the limit.
func (c *Code) walk(first uint64) []entry {
	var out []entry
	var b [entrySize]byte
	seen := map[uint64]bool{}
	for at := first; at != 0 && !seen[at] && len(out) < maxEntries; {
		if c.host.Read(at, b[:]) < entrySize {
			break
		}
		seen[at] = true
		e := entry{at: at, image: binary.LittleEndian.Uint64(b[16:]), size: binary.LittleEndian.Uint64(b[24:])}
		at = binary.LittleEndian.Uint64(b[0:])
		if e.size != 0 && e.size <= maxImage && e.image+e.size > e.image {
			e.contentHash = c.contentHashOf(&e)
			out = append(out, e)
		}
	}
	return out
}

func (c *Code) contentHashOf(e *entry) uint64 {
	b := c.buf[:min(e.size, hashedBytes)]
	h := fnv.New64a()
	h.Write(b[:c.host.Read(e.image, b)])
	return h.Sum64()
}

// refresh reports whether entries or images have changed.
func (c *Code) refresh(l *list) bool {
	h, stale := c.stale(l)
	if !stale {
		return false
	}
	entries := c.walk(h.firstEntry())
	loaded := true
	for i := range entries {
		loaded = c.load(&entries[i]) && loaded
	}
	again := c.readHead(l)
	confirmed := c.walk(again.firstEntry())
	if !slices.Equal(confirmed, entries) {
		in := make(map[entry]bool, len(confirmed))
		for _, e := range confirmed {
			in[e] = true
		}
		entries = slices.DeleteFunc(entries, func(e entry) bool { return !in[e] })
		loaded = false
	}
	if l.head = h; !loaded {
		l.head = listHead{} // read again at the next refresh
	}
	changed := !slices.Equal(entries, l.entries) || c.imageAdded
	l.entries = entries
	return changed
}
