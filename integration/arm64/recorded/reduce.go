// SPDX-License-Identifier: Apache-2.0

package recorded

import (
	"os"
	"path/filepath"
	"slices"
)

const (
	largest  = 1 << 20
	smallest = 16
)

// Range is a piece of a case's file.
type Range struct {
	File     string
	From, To int
}

// Reduce zeroes all bytes that the walk does not depend on, except keep. dir must be empty.
func (c *Case) Reduce(dir string, keep []Range) error {
	w, err := NewWalker(c, dir)
	if err != nil {
		return err
	}
	r := reducer{w: w, stop: c.Stop, keep: keep}
	if r.want, _, err = w.Walk(); err != nil {
		return err
	}
	for i := range c.Files {
		if err := r.file(&c.Files[i]); err != nil {
			return err
		}
	}
	return nil
}

type reducer struct {
	w    *Walker
	want []Frame
	stop string
	keep []Range
	name string
	data []byte
	disk *os.File
}

func (r *reducer) file(f *File) error {
	r.name, r.data, r.disk = f.Name, f.Data, nil
	if f.Name != CoreName {
		disk, err := os.OpenFile(filepath.Join(r.w.dir, f.Name), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer disk.Close()
		r.disk = disk
	}
	for at := 0; at < len(r.data); at += largest {
		if err := r.piece(at, min(at+largest, len(r.data))); err != nil {
			return err
		}
	}
	return nil
}

func (r *reducer) piece(from, to int) error {
	part := r.data[from:to]
	if !slices.ContainsFunc(part, func(b byte) bool { return b != 0 }) {
		return nil
	}
	if !r.kept(from, to) {
		old := slices.Clone(part)
		clear(part)
		if err := r.store(from, part); err != nil {
			return err
		}
		if r.same() {
			return nil
		}
		copy(part, old)
		if err := r.store(from, part); err != nil {
			return err
		}
	}
	if to-from <= smallest {
		return nil
	}
	// The second half first, while all that it needs of the first half is present.
	middle := from + (to-from)/2&^(smallest-1)
	if middle == from {
		middle = from + smallest
	}
	if err := r.piece(min(middle, to), to); err != nil {
		return err
	}
	return r.piece(from, min(middle, to))
}

func (r *reducer) kept(from, to int) bool {
	return slices.ContainsFunc(r.keep, func(k Range) bool { return k.File == r.name && k.From < to && from < k.To })
}

func (r *reducer) store(at int, b []byte) error {
	if r.disk == nil {
		return nil
	}
	_, err := r.disk.WriteAt(b, int64(at))
	return err
}

func (r *reducer) same() bool {
	got, stop, err := r.w.Walk()
	return err == nil && stop == r.stop && slices.Equal(got, r.want)
}
