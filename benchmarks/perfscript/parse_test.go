// SPDX-License-Identifier: Apache-2.0

package perfscript

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func all(t *testing.T, text string) ([]Sample, int64) {
	t.Helper()
	var got []Sample
	lost, err := Parse(strings.NewReader(text), func(s *Sample) error {
		c := *s
		c.Frames = slices.Clone(s.Frames)
		got = append(got, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, lost
}

func TestSamplesAreReadWithTheirFrames(t *testing.T) {
	text, err := os.ReadFile("testdata/small.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, lost := all(t, string(text))
	want := []Sample{
		{PID: 18985, TID: 18986, Time: 3117771783000, Frames: []Frame{
			{0x3047, "load::Heavy::run", "/tmp/a dir (x)/inlined"},
			{0x24d0, "_start", "/tmp/a dir (x)/inlined"},
		}},
		{PID: 7, TID: 7, Time: 1000, Frames: []Frame{
			{0xffffffff813a2413, "finish_task_switch.isra.0", "[kernel.kallsyms]"},
			{0x1230, "virtnet_poll", "[virtio_net]"},
			{0x7fc9f000739a, "JS:*f /x/load.js:8:19", "/tmp/perf-7.map"},
			{0x9b1, "(anonymous namespace)::g(int) (.cold)", "/bin/gone"},
			{0, "[unknown]", "[unknown]"},
		}},
		{PID: 8, TID: 9, Time: 2000000000},
		{PID: 8, TID: 9, Time: 2000001000, Frames: []Frame{{0x99b, "__vdso_clock_gettime", "[vdso]"}}},
	}
	for i := range want {
		if i >= len(got) || got[i].PID != want[i].PID || got[i].Time != want[i].Time || got[i].TID != want[i].TID ||
			len(got[i].Frames)+len(want[i].Frames) > 0 && !reflect.DeepEqual(got[i].Frames, want[i].Frames) {
			t.Errorf("sample %d of %d is %+v, want %+v", i, len(got), got[min(i, len(got)-1)], want[i])
		}
	}
	if len(got) != len(want) || lost != 12 {
		t.Errorf("%d samples, %d lost, want %d and 12", len(got), lost, len(want))
	}
	for i, want := range []string{"load::Heavy::run", "JS:*f /x/load.js:8:19", "", "__vdso_clock_gettime"} {
		if f := got[i].User(); (f == nil) != (want == "") || f != nil && f.Name != want {
			t.Errorf("the user's frame of sample %d is %v, want %q", i, f, want)
		}
	}
}

func TestOtherTextIsRefused(t *testing.T) {
	for _, text := range []string{"hello\n", "1/2\n", "1/2 3.4\n", "1/x 3.4:\n", "1/2 3.4:\n\tzz f (g)\n", "1/2 -3:\n",
		"1/2 3.1234567890:\n"} {
		if _, err := Parse(strings.NewReader(text), func(*Sample) error { return nil }); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAnErrorOfTheCallerEndsIt(t *testing.T) {
	stop := errors.New("enough")
	if _, err := Parse(strings.NewReader("1/2 3.4:\n\n1/2 3.5:\n"), func(*Sample) error { return stop }); !errors.Is(err,
		stop) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/small.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("1/2 3.4:\n\t1 (deleted))\n\t2 (\n\t3 )\n")
	f.Fuzz(func(t *testing.T, text string) {
		lost, _ := Parse(strings.NewReader(text), func(s *Sample) error {
			s.User()
			return nil
		})
		if lost < 0 {
			t.Error("a negative number lost")
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text, err := os.ReadFile("testdata/small.txt")
	if err != nil {
		b.Fatal(err)
	}
	many := strings.Repeat(string(text)+"\n", 100)
	b.SetBytes(int64(len(many)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(strings.NewReader(many), func(*Sample) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
