// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

// An interpreter's loop runs two managed frames, and once only itself.
func managedProfile(t *testing.T) *profile.Profile {
	t.Helper()
	b := rec.NewBuilder(rec.Meta{Aggregate: true})
	exe := &rec.ModuleInfo{Start: 0x1000, End: 0x2000, Path: "/usr/bin/toy"}
	vm := &rec.ModuleInfo{Path: "[Toy 1.0]"}
	loop := rec.Loc{Module: exe, Addr: 0x1010, Machinery: true}
	name := func(s string) rec.Loc {
		frames := []rec.Frame{{Name: s, System: rec.SystemNameOfType(s, "interpreted")}}
		return rec.Loc{Module: vm, FramesID: b.InternFrames(frames)}
	}
	b.Add(rec.Interval{Stack: b.Intern([]rec.Loc{name("inner"), loop, name("outer"), loop}), PID: 1, Samples: 3, CPU: 3e9})
	b.Add(rec.Interval{Stack: b.Intern([]rec.Loc{loop}), PID: 1, Samples: 1, CPU: 1e9})
	var w bytes.Buffer
	if err := b.Write(&w, nil); err != nil {
		t.Fatal(err)
	}
	p, err := rec.Read(&w)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMachineryIsShownOnRequest(t *testing.T) {
	p := managedProfile(t)
	for native, want := range map[bool]string{
		false: "[toy] 1\nouter;inner 3\n",
		true:  "[toy] 1\n[toy];outer;[toy];inner 3\n",
	} {
		var w bytes.Buffer
		if err := Folded(&w, p, Options{Native: native, Value: "samples"}); err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(w.Bytes(), []byte("\n"))
		slices.SortFunc(lines, bytes.Compare)
		if got := string(bytes.Join(lines, nil)); got != want {
			t.Errorf("native %v:\n%swant\n%s", native, got, want)
		}
	}
	if n := len(p.Sample[0].Location) + len(p.Sample[1].Location); n != 5 {
		t.Errorf("the caller's profile has changed: %d locations", n)
	}
	f, err := Filter(p, Options{})
	if err != nil || len(f.Sample[0].Location)+len(f.Sample[1].Location) != 3 {
		t.Errorf("%v, %v", f, err)
	}
}
