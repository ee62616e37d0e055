// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/host/outfile"
)

// WriteFile writes to path ("-": standard output). A regular file is replaced atomically, with mode 0600.
func (b *Builder) WriteFile(path string, r Resolver) error {
	return writeFile(path, " with -o", func(w io.Writer) error { return b.Write(w, r) })
}

// WriteFileAtomic is WriteFile for other contents. It refuses to replace a recording.
func WriteFileAtomic(path string, write func(io.Writer) error) error {
	if isRecording(path) {
		return errIsRecording(path)
	}
	return writeFile(path, "", write)
}

// WritePGO is WriteFileAtomic for a profile for the Go compiler; it replaces an earlier such profile, but no recording,
// compressed or not.
func WritePGO(path string, write func(io.Writer) error) error {
	if st, err := os.Stat(path); path != "-" && err == nil && st.Mode().IsRegular() {
		if p, err := ReadFile(path); err == nil && slices.ContainsFunc(p.SampleType, isWall) {
			return errIsRecording(path)
		}
	}
	return writeFile(path, "", write)
}

func isWall(t *pprof.ValueType) bool { return t.Type == TypeWall }

func errIsRecording(path string) error {
	return fmt.Errorf("cannot write %s: it is a recording; name another file to write, before the recording to read",
		path)
}

// flag is " with -o" if that option chose the path, else "".
func writeFile(path, flag string, write func(io.Writer) error) error {
	err := outfile.Write(path, write)
	if err == nil {
		return nil
	}
	if path == "-" {
		path = "the standard output"
	}
	hint := ""
	for _, r := range writeRemedies {
		if slices.ContainsFunc(r.errors, func(e error) bool { return errors.Is(err, e) }) {
			hint = " (" + r.remedy + "choose another place" + flag + ")"
		}
	}
	return fmt.Errorf("cannot write %s: %w%s", path, err, hint)
}

var writeRemedies = []struct {
	remedy string
	errors []error
}{
	{"free some space, or ", []error{syscall.ENOSPC, syscall.EDQUOT}},
	{"raise ulimit -f, or ", []error{syscall.EFBIG}},
	{"make the directory first, or ", []error{fs.ErrNotExist, syscall.ENOTDIR}},
	{"", []error{fs.ErrPermission, syscall.EROFS, syscall.EISDIR, outfile.ErrForeignLink, outfile.ErrForeignFile,
		outfile.ErrBlockDevice}},
}
