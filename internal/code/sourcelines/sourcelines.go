// SPDX-License-Identifier: Apache-2.0

// Package sourcelines sums a profile's values by source lines, and reads the lines' text.
//
// A profile may come from another machine and user, so files are read only below one directory that the user has named.
// With [Files].Own, the user's own file at a recorded path is read, too: for text that only the user sees.
package sourcelines

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/host/safeopen"
)

const (
	maxBytes     = 16 << 20
	maxFunctions = 50
	// Each part of a path costs a look-up.
	maxParts = 64
)

// Line has the value of line N itself, and with its calls.
type Line struct {
	N           int64
	Self, Total int64
}

// Function has its lines with values, by number.
type Function struct {
	Name, File string
	ByLine     map[int64]*Line
	Total      int64
}

// Functions sums the lines of the functions that match, most expensive first.
func Functions(p *profile.Profile, want *regexp.Regexp, column int) []*Function {
	all := map[*profile.Function]*Function{}
	matches := map[*profile.Function]bool{}
	for _, f := range p.Function {
		matches[f] = f.Filename != "" && want.MatchString(f.Name)
	}
	for _, sample := range p.Sample {
		v, leaf := sample.Value[column], true
		seenLine, seenFunc := map[*Line]bool{}, map[*Function]bool{} // recursion counts once
		for _, loc := range sample.Location {
			for _, l := range loc.Line {
				if !matches[l.Function] {
					leaf = false
					continue
				}
				f := all[l.Function]
				if f == nil {
					f = &Function{Name: l.Function.Name, File: l.Function.Filename, ByLine: map[int64]*Line{}}
					all[l.Function] = f
				}
				line := f.ByLine[l.Line]
				if line == nil {
					line = &Line{N: l.Line}
					f.ByLine[l.Line] = line
				}
				if !seenLine[line] {
					seenLine[line] = true
					line.Total += v
				}
				if !seenFunc[f] {
					seenFunc[f] = true
					f.Total += v
				}
				if leaf {
					line.Self += v
				}
				leaf = false
			}
		}
	}
	var out []*Function
	for _, f := range p.Function {
		if all[f] != nil {
			out = append(out, all[f])
		}
	}
	slices.SortStableFunc(out, func(a, b *Function) int { // namesakes in p's order
		return cmp.Or(cmp.Compare(b.Total, a.Total), strings.Compare(a.Name, b.Name), strings.Compare(a.File, b.File))
	})
	return out[:min(len(out), maxFunctions)]
}

// Files finds source files.
type Files struct {
	// Dir is searched, unless it is "".
	Dir string
	// Own means that files missing there are read at the recorded absolute path, if they are the user's own.
	Own bool

	opener safeopen.Opener
}

// errNotOwn means that the file at the recorded path is another user's.
var errNotOwn = errors.New("the file is another user's: name its directory with --source-dir")

// Read returns a file's lines: from the longest end of its path that exists below Dir, else from the user's own file.
// The error is [os.ErrNotExist] only if neither exists.
func (f *Files) Read(name string) (lines []string, err error) {
	err = os.ErrNotExist
	if f.Dir != "" {
		lines, err = f.readBelow(name)
	}
	if err == nil || !f.Own || !path.IsAbs(name) {
		return lines, err
	}
	own, errOwn := f.readOwn(name)
	if isMissing(errOwn) {
		return nil, err
	}
	return own, errOwn
}

func isMissing(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR) }

func (f *Files) readOwn(name string) ([]string, error) {
	file, err := f.opener.Open(safeopen.Request{Path: path.Clean(name), MaxSize: maxBytes})
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if file.UID() != uint32(os.Geteuid()) {
		return nil, errNotOwn
	}
	b, err := io.ReadAll(file.Reader())
	return strings.Split(string(b), "\n"), err
}

func (f *Files) readBelow(name string) ([]string, error) {
	parts := strings.Split(strings.TrimPrefix(path.Clean("/"+name), "/"), "/")
	failed := os.ErrNotExist // first other error
	for i := max(0, len(parts)-maxParts); i < len(parts); i++ {
		file, err := f.opener.Open(safeopen.Request{
			Root: f.Dir, Path: strings.Join(parts[i:], "/"), Beneath: true, MaxSize: maxBytes,
		})
		if err != nil {
			if isMissing(failed) && !isMissing(err) {
				failed = err
			}
			continue
		}
		b, err := io.ReadAll(file.Reader())
		_ = file.Close() // it was only read
		return strings.Split(string(b), "\n"), err
	}
	return nil, failed
}
