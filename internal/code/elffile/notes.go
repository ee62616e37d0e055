// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"debug/elf"
	"encoding/hex"
	"iter"

	"prywalk/internal/base/wire"
)

const (
	noteGNUBuildID = 3 // NT_GNU_BUILD_ID, name "GNU"
	noteHeader     = 12
	// The longest are a core's mapped files.
	maxNote = 16 << 20
	// maxNotes bounds a file's notes in bytes, each counted with noteCost more: a hole reads as billions of empty notes.
	maxNotes = 8 << 30
	noteCost = 4096
	// Twice the longest hash in use, in bytes.
	maxBuildID = 128
)

// Note is an entry of a note segment or section.
type Note struct {
	Name string
	Type uint32
	// Desc is read-only.
	Desc []byte
}

// Notes returns the notes of all note segments; without any, of the note sections. Damage ends a segment.
func (f *File) Notes() iter.Seq[Note] {
	return func(yield func(Note) bool) {
		seen, left := false, uint64(maxNotes)
		for i := range f.Segments {
			s := &f.Segments[i]
			if s.Type != elf.PT_NOTE || s.FileSize == 0 {
				continue
			}
			seen = true
			if !f.notesIn(s.Off, s.FileSize, s.Align, &left, yield) {
				return
			}
		}
		for i := range f.Sections {
			s := &f.Sections[i]
			if seen || s.Type != elf.SHT_NOTE {
				continue
			}
			if !f.notesIn(s.Off, s.Size, s.Align, &left, yield) {
				return
			}
		}
	}
}

// notesIn yields notes while they cost at most left, and returns false if yield did.
func (f *File) notesIn(off, size, align uint64, left *uint64, yield func(Note) bool) bool {
	if off > f.size {
		return true
	}
	w := &Window{off: off, size: min(size, f.size-off), r: f.r}
	if align != 8 {
		align = 4 // 8 for ELF64 in the gABI, in practice 4 unless stated
	}
	for pos := uint64(0); pos < w.size; {
		n, next, ok := w.note(pos, align)
		cost := next - pos + noteCost
		if !ok || cost > *left {
			return true
		}
		*left -= cost
		if !yield(n) {
			return false
		}
		pos = next
	}
	return true
}

func (w *Window) note(pos, align uint64) (n Note, next uint64, ok bool) {
	head, err := w.View(pos, noteHeader)
	if err != nil {
		return n, 0, false
	}
	c := &wire.Cursor{Bytes: head}
	nameSize, descSize := uint64(c.U32()), uint64(c.U32())
	n.Type = c.U32()
	if nameSize > maxName || descSize > maxNote {
		return n, 0, false
	}
	descOff := roundUp(noteHeader+nameSize, align)
	body, err := w.View(pos, int(descOff+descSize))
	if err != nil {
		return n, 0, false
	}
	n.Name = stringAt(string(body[:descOff]), noteHeader)
	n.Desc = body[descOff:]
	return n, pos + roundUp(descOff+descSize, align), true
}

func roundUp(n, align uint64) uint64 { return (n + align - 1) / align * align }

// BuildID returns the GNU build id in lower-case hex; "" if there is none.
func (f *File) BuildID() string {
	for n := range f.Notes() {
		if id := buildID(n); id != "" {
			return id
		}
	}
	id, left := "", uint64(maxNotes)
	if s := f.Section(".note.gnu.build-id"); s != nil && s.Type != elf.SHT_NOBITS {
		f.notesIn(s.Off, s.Size, s.Align, &left, func(n Note) bool {
			id = buildID(n)
			return id == ""
		})
	}
	return id
}

func buildID(n Note) string {
	if n.Name != "GNU" || n.Type != noteGNUBuildID || len(n.Desc) > maxBuildID {
		return ""
	}
	return hex.EncodeToString(n.Desc)
}
