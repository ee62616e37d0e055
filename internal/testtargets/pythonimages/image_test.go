// SPDX-License-Identifier: Apache-2.0

package pythonimages

import (
	"bytes"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/walk/managed"
)

func kept(t testing.TB) map[string]*Image {
	t.Helper()
	files, err := filepath.Glob("testdata/images/*" + Suffix)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d images: %v", len(files), err)
	}
	all := map[string]*Image{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), Suffix)
		if all[name], err = Decode(bytes.NewReader(text)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return all
}

const leastCalls = 40

func TestRecordedInterpretersHaveTheirChains(t *testing.T) {
	for name, m := range kept(t) {
		t.Run(name, func(t *testing.T) {
			f, err := m.Walk(m)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(f.Calls); n > 0 && n == len(m.Calls) {
				f.Calls[n-1].Line = m.Calls[n-1].Line
			}
			if !slices.Equal(f.Calls, m.Calls) || len(f.Calls) < leastCalls {
				t.Errorf("%v\nwant %v", f.Calls, m.Calls)
			}
			if f.Freed || f.Health != managed.Matched || f.Thread != m.Thread {
				t.Errorf("freed %v, health %d, thread %q, want %q", f.Freed, f.Health, f.Thread, m.Thread)
			}
		})
	}
}

// Each change is a 4-byte offset in the image's memory, and 8 bytes.
func FuzzImages(f *testing.F) {
	all := kept(f)
	list := slices.Sorted(maps.Keys(all))
	for i, name := range list {
		m := all[name]
		var circle []byte // every region leads to its own start
		for off, r := 0, 0; r < len(m.Memory); r++ {
			circle = binary.LittleEndian.AppendUint32(circle, uint32(off))
			circle = binary.LittleEndian.AppendUint64(circle, m.Memory[r].Addr)
			off += len(m.Memory[r].Bytes)
		}
		f.Add(uint8(i), circle)
		f.Add(uint8(i), []byte(nil))
	}
	f.Fuzz(func(_ *testing.T, which uint8, changes []byte) {
		m := *all[list[int(which)%len(list)]]
		m.Memory = slices.Clone(m.Memory)
		for ; len(changes) >= 12; changes = changes[12:] {
			m.change(binary.LittleEndian.Uint32(changes), changes[4:12])
		}
		_, _ = m.Walk(&m)
	})
}

func (img *Image) change(off uint32, b []byte) {
	for i := range img.Memory {
		r := &img.Memory[i]
		if n := uint32(len(r.Bytes)); off >= n {
			off -= n
			continue
		}
		r.Bytes = slices.Clone(r.Bytes)
		copy(r.Bytes[off:], b)
		return
	}
}
