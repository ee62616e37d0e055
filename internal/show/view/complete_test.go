// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/incomplete"
	rec "prywalk/internal/store/profile"
)

func TestTheHeadSaysTheShareOfGuessedFrames(t *testing.T) {
	r := newRecording(rec.TypeCPU)
	r.add("work", 700)
	r.addStack([]*profile.Location{r.location("work", "/srv/app"), r.location(incomplete.Guessed, "")}, 200)
	r.addStack([]*profile.Location{r.location("work", "/srv/app"), r.location(incomplete.Name("depth"), "")}, 100)
	d := r.data(t, Options{})
	var c incomplete.Completeness
	for _, s := range d.Profile.Sample {
		d.Table.addStackTime(&c, s.Value[0], d.Table.Stack(s))
	}
	const want = "90.0% of CPU time with complete stacks, 20.0% with guessed frames"
	if got := c.Text("CPU ", Percent); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := c.GuessedText("cpu", Percent); got == "" {
		t.Error("no note on guessed frames")
	}
}
