// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"prywalk/internal/loadedcode"
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

// TestPartsBeginByTheClockAndNotByTheirWriting: the first one takes half a period to write, the fourth one and a half.
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
			<-asked
			if !r.rotate() {
				t.Error("it was not rotated")
			}
			got = append(got, r.builder.PartStart().Sub(begin))
			time.Sleep(writing)
		}
		want := []time.Duration{2, 4, 6, 8, 11, 12}
		for i := range want {
			want[i] *= time.Second
		}
		if !slices.Equal(got, want) {
			t.Errorf("parts begin at %v, want %v", got, want)
		}
		if r.rotate() {
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
