// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/aggregator"
)

func TestWhatTopNamedEndedProgramsWithIsLetGo(t *testing.T) {
	const programs = 12
	from := testtargets.NeedProgram(t, "sleep")
	images := loadedcode.NewImageCache(0)
	defer images.Close()
	r := newBackgroundResolver()
	defer r.close()
	dir := t.TempDir()
	var last *profile.ModuleInfo
	name := func() string {
		return fmt.Sprint(r.Resolve(last, last.Origin.Module.Start-last.Bias+64))
	}
	for i := range programs {
		exe := filepath.Join(dir, fmt.Sprint("sleep", i))
		if out, err := bounded.AllOutput(exec.Command("cp", from, exe)); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		cmd := testtargets.Child(t, exec.Command(exe, "1000"))
		testtargets.Asleep(t, cmd.Process.Pid)
		p, err := images.Open(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		last = aggregator.ModuleInfo(p.PID, p.Main())
		name()
		if i < programs-1 {
			testtargets.Kill(cmd)
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		defer p.Close()
	}
	if len(r.private) != programs || len(r.modules) != programs {
		t.Fatalf("%d files and %d modules: the test shows nothing", len(r.private), len(r.modules))
	}
	before, files := name(), testtargets.Descriptors(t)
	for range 3 {
		images.CloseUnused()
		r.DropUnused()
	}
	if len(r.private) != 1 || len(r.modules) != 0 {
		t.Errorf("%d files and %d modules are kept", len(r.private), len(r.modules))
	}
	if now := testtargets.Descriptors(t); now > files-(programs-1) {
		t.Errorf("%d descriptors, %d before", now, files)
	}
	if after := name(); after != before {
		t.Errorf("%s, not %s", after, before)
	}
	late := time.Now()
	r.now = func() time.Time { return late }
	for _, c := range []struct {
		after time.Duration
		kept  bool
	}{{closeAfter, true}, {closeAfter + time.Second, false}} {
		if after := name(); after != before {
			t.Errorf("%s, not %s", after, before)
		}
		late = late.Add(c.after)
		r.DropUnused()
		for _, p := range r.private {
			if (p.image != nil) != c.kept {
				t.Errorf("unused for %s: %+v", c.after, p)
			}
		}
	}
}
