// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"errors"
	"fmt"
	"io"
	"path"
)

// Opener opens a file. A reader that is an [io.Closer] is closed with the file.
type Opener func(path string) (r io.ReaderAt, size int64, err error)

// DebugFile is an open file with debug information of another one.
type DebugFile struct {
	*File
	Path string
	r    io.ReaderAt
}

// Close closes the file and frees its memory. A nil one is closed.
func (d *DebugFile) Close() error {
	if d == nil {
		return nil
	}
	d.Release()
	if c, ok := d.r.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// OpenDebug opens the debug file of f, the file at a path; it returns nil if there is none. warn gets a file's error if
// it is damaged, or of another build.
func (f *File) OpenDebug(file string, open Opener, warn func(error)) *DebugFile {
	for _, p := range f.debugPaths(file) {
		if d := f.openOther(p, open, f.checkDebug, warn); d != nil {
			return d
		}
	}
	return nil
}

// OpenAlt opens the file with debug information that f, the file at a path, shares ([File.debugAltLink]); it returns
// nil if there is none. link is empty if f has none. warn is as of OpenDebug.
func (f *File) OpenAlt(file string, open Opener, warn func(error)) (alt *DebugFile, link string) {
	link, id, ok := f.debugAltLink()
	if !ok {
		return nil, ""
	}
	if !path.IsAbs(link) {
		link = path.Join(path.Dir(file), link)
	}
	sameBuild := func(d *File, _ io.ReaderAt, _ int64) error {
		if d.BuildID() != id {
			return errOtherBuild
		}
		return nil
	}
	for _, p := range []string{link, BuildIDPath(id)} {
		if p == "" {
			continue
		}
		if alt = f.openOther(p, open, sameBuild, warn); alt != nil {
			break
		}
	}
	return alt, link
}

func (f *File) openOther(
	p string, open Opener, fits func(d *File, r io.ReaderAt, size int64) error, warn func(error),
) *DebugFile {
	r, size, err := open(p)
	if err != nil || r == nil {
		return nil
	}
	d := &DebugFile{Path: p, r: r}
	if d.File, err = openIn(f.Memory().Budget(), r, size); err == nil {
		d.Memory().Rename(p)
		err = fits(d.File, r, size)
	}
	if err != nil {
		warn(fmt.Errorf("debug file %s is not used: %w", p, errors.Join(err, d.Close())))
		return nil
	}
	return d
}
