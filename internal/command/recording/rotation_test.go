// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func TestAPartInADirectoryThatCannotBeSearchedHasAName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.Local)
	r := newRotation(filepath.Join(file, "r.pb.gz"), time.Hour, 0) // ENOTDIR
	if got, want := r.path(at), filepath.Join(file, "r-20260203-040506.pb.gz"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTheTimeIsPutInPlaceOfItsPlaceholderOnly(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.Local)
	for output, want := range map[string]string{
		"a%t.pb.gz":  "a20260203-040506.pb.gz",
		"a-%p.pb.gz": "a-7-20260203-040506.pb.gz",
		"a%%t.pb.gz": "a%t-20260203-040506.pb.gz",
		"%t.a%t.gz":  "20260203-040506.a20260203-040506.gz",
	} {
		dir := t.TempDir()
		r := newRotation(expandPath(filepath.Join(dir, output), 7, timeMark), time.Hour, 0)
		if got := r.path(at); got != filepath.Join(dir, want) {
			t.Errorf("%s: %s, want %s", output, got, want)
		}
	}
}

func TestADirectoryIsNamedByTheBeginOfTheRecording(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecording(Options{Output: "%t/r.pb.gz", Rotate: time.Hour})
		r.output.setPath(&r.options, 1)
		begin := time.Now().Format(timeFormat)
		time.Sleep(time.Minute) // synctest's time
		now := time.Now()
		if got, want := r.output.rotation.path(now), begin+"/r-"+now.Format(timeFormat)+".pb.gz"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestPartsBeginByTheClockAndNotByTheirWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecording(Options{Output: filepath.Join(t.TempDir(), "r.pb.gz"), Rotate: 2 * time.Second})
		r.output.setPath(&r.options, 1)
		r.images = loadedcode.NewImageCache(0)
		r.prepare(nil)
		defer r.close()
		begin := r.builder.PartStart()
		asked := make(chan struct{}, 10)
		go r.output.rotation.run(t.Context(), func() { asked <- struct{}{} })
		var got []time.Duration
		for _, writing := range []time.Duration{time.Second, 0, 0, 3 * time.Second, 0, 0} {
			bounded.Receive(t, "a checkpoint is asked for", asked)
			if !r.rotateIfDue() {
				t.Error("it was not rotated")
			}
			got = append(got, r.builder.PartStart().Sub(begin))
			time.Sleep(writing) // synctest's time
		}
		want := []time.Duration{2, 4, 6, 8, 11, 12}
		for i := range want {
			want[i] *= time.Second
		}
		if !slices.Equal(got, want) {
			t.Errorf("parts begin at %v, want %v", got, want)
		}
		if r.rotateIfDue() {
			t.Error("it was rotated unasked")
		}
	})
}

func TestTopOfProcessesThatHaveAllEndedHasAHeading(t *testing.T) {
	l := &topRun{}
	if l.setTarget(nil); l.target != "no process" {
		t.Errorf("got %q", l.target)
	}
}

func TestAnAbortAfterAPartNamesWhatIsWritten(t *testing.T) {
	r := newRecording(Options{Output: filepath.Join(t.TempDir(), "r.pb.gz"), Rotate: time.Hour})
	r.output.setPath(&r.options, 1)
	r.images = loadedcode.NewImageCache(0)
	r.prepare(nil)
	defer r.close()
	r.output.rotation.due.Store(true)
	if !r.rotateIfDue() {
		t.Fatal("it was not rotated")
	}
	want := "the parts before " + r.output.path + " are complete (1); the rest is lost"
	if got := r.output.state.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTheOldestPartsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	r := newRotation(filepath.Join(dir, "r.pb.gz"), time.Hour, 2)
	names := []string{"r-20261025-023000.pb.gz", "r-20261025-025000.pb.gz", "r-20261025-020001.pb.gz"}
	written := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC)
	for i, name := range names {
		path := filepath.Join(dir, name)
		if err := profile.NewBuilder(profile.Meta{}).WriteFile(path, nil); err != nil {
			t.Fatal(err)
		}
		at := written.Add(time.Duration(i) * 20 * time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	r.prune()
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if want := []string{filepath.Join(dir, names[2]), filepath.Join(dir, names[1])}; !slices.Equal(left, want) {
		t.Errorf("%q are left, want %q", left, want)
	}
}

// A user who may write to the directory could have had a recording removed elsewhere, or all of root's own.
func TestOldPartsAreRemovedInTheirDirectoryOnlyAndNoneForAnotherUsersFiles(t *testing.T) {
	testtargets.NeedRoot(t, "make another user's files")
	const nobody = 65534
	above := t.TempDir()
	dir, elsewhere := filepath.Join(above, "dir"), filepath.Join(above, "elsewhere")
	r := newRotation(filepath.Join(dir, "r.pb.gz"), time.Hour, 2)
	write := func(dir string, day, uid int) string {
		path := filepath.Join(dir, fmt.Sprintf("r-202610%02d-000000.pb.gz", day))
		at := time.Date(2026, 10, day, 0, 0, 0, 0, time.UTC)
		err := errors.Join(os.MkdirAll(dir, 0o777), profile.NewBuilder(profile.Meta{}).WriteFile(path, nil),
			os.Chtimes(path, at, at), os.Chown(path, uid, 0))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	oldest := write(dir, 1, 0)
	want := []string{write(dir, 2, 0), write(dir, 3, 0)}
	for day := 11; day < 14; day++ {
		want = append(want, write(dir, day, nobody), write(elsewhere, day, 0))
	}
	pipe, link := filepath.Join(dir, "r-20261020-000000.pb.gz"), filepath.Join(dir, "r-20261021-000000.pb.gz")
	if err := errors.Join(unix.Mkfifo(pipe, 0o600), os.Symlink(want[0], link)); err != nil {
		t.Fatal(err)
	}
	want = append(want, pipe, link)
	r.prune()
	moved := filepath.Join(above, "moved")
	if err := errors.Join(os.Rename(dir, moved), os.Symlink(elsewhere, dir)); err != nil {
		t.Fatal(err)
	}
	r.prune()
	for _, path := range want {
		path = strings.Replace(path, dir, moved, 1)
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(strings.Replace(oldest, dir, moved, 1)); err == nil {
		t.Error("the oldest part stays")
	}
}

func TestTheLastPartCountsAsKept(t *testing.T) {
	dir := t.TempDir()
	r := newRecording(Options{Output: filepath.Join(dir, "r.pb.gz"), Rotate: time.Hour, Keep: 1})
	r.output.setPath(&r.options, 1)
	r.images = loadedcode.NewImageCache(0)
	r.prepare(nil)
	defer r.close()
	r.output.rotation.due.Store(true)
	r.rotateIfDue()
	last := r.output.path
	if err := r.writeLast(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); !slices.Equal(left, []string{last}) {
		t.Errorf("%q are left, want %q", left, last)
	}
}
