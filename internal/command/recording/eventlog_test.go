// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/sample"
	"prywalk/internal/host/selfhang"
	"prywalk/internal/store/profile"
)

func TestEventLogNamesTheStacks(t *testing.T) {
	var log bytes.Buffer
	r := &recording{builder: profile.NewBuilder(profile.Meta{})}
	r.setNames()
	r.samplerOpts.EventLog = &log
	inner := profile.Loc{FramesID: r.builder.InternFrames([]profile.Frame{{Name: "inlined"}, {Name: "inner"}})}
	r.builder.Intern([]profile.Loc{{Synthetic: "[exited unseen]"}})
	r.builder.Intern([]profile.Loc{inner, {Synthetic: "outer"}})
	r.logStacks()
	want := `{"Stack":{"Functions":["[exited unseen]"],"ID":0}}
{"Stack":{"Functions":["inlined","inner","outer"],"ID":1}}
`
	if log.String() != want {
		t.Errorf("log\n%swant\n%s", log.String(), want)
	}
}

func TestEventLogNamesTheStacksThatWereNotEvicted(t *testing.T) {
	var log bytes.Buffer
	r := &recording{builder: profile.NewBuilder(profile.Meta{Rotates: true})}
	r.setNames()
	r.samplerOpts.EventLog = &log
	var ids []sample.StackID
	for _, name := range []string{"a", "b", "c"} {
		ids = append(ids, r.builder.Intern([]profile.Loc{{Synthetic: name}}))
	}
	r.builder.Evict(slices.Values(ids[1:2]))
	r.builder.Intern([]profile.Loc{{Synthetic: "d"}})
	r.logStacks()
	want := `{"Stack":{"Functions":["b"],"ID":1}}
{"Stack":{"Functions":["d"],"ID":3}}
`
	if log.String() != want {
		t.Errorf("log\n%swant\n%s", log.String(), want)
	}
}

type hangingWriter struct{ pipe int }

func (h hangingWriter) Write(b []byte) (int, error) { return unix.Read(h.pipe, b[:1]) }

func TestHangWhileStacksAreLoggedLeavesTheRecordingWhole(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[1])
	path := filepath.Join(t.TempDir(), "r.pb.gz")
	r := newRecording(Options{Output: path, Overwrite: true})
	r.output.setPath(&r.options, 1)
	r.builder = profile.NewBuilder(profile.Meta{})
	r.setNames()
	r.samplerOpts.EventLog = hangingWriter{pipe[0]}
	r.builder.Intern([]profile.Loc{{Synthetic: "a"}})
	err := r.writeWatched()
	if !errors.Is(err, selfhang.Err) || !r.hung || strings.Contains(err.Error(), "cannot write") ||
		!strings.HasSuffix(err.Error(), "the whole recording is in "+path) {
		t.Errorf("hung %v, error: %v", r.hung, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
