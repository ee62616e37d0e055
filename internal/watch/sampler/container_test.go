// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/frames"
	"prywalk/internal/base/incomplete"
	procs "prywalk/internal/host/process"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/target"
)

const enter = `set -e
mount -t tmpfs none "$1/root"
mkdir "$1/root/app" "$1/root/tmp"
cp "$1/contained" "$1/libinside.so" "$1/root/app"
rm "$1/contained" "$1/libinside.so"
for f in $2; do mkdir -p "$1/root$(dirname "$f")"; cp "$f" "$1/root$f"; done
exec chroot "$1/root" /app/contained`

// contain starts testdata/contained.c in its own mount, pid and user namespaces.
func contain(t *testing.T) int {
	t.Helper()
	for _, tool := range []string{"unshare", "chroot", "ldd", "cc"} {
		testtargets.NeedProgram(t, tool)
	}
	err := bounded.Run(exec.Command("unshare", "--mount", "--pid", "--fork", "--user", "--map-root-user", "true"))
	testtargets.Need(t, err == nil, "user namespaces", "sysctl kernel.unprivileged_userns_clone=1, or root")
	dir := t.TempDir()
	must := func(name string, args ...string) string {
		out, err := bounded.AllOutput(exec.Command(name, args...))
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		return string(out)
	}
	if err := os.Mkdir(filepath.Join(dir, "root"), 0o755); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "contained")
	must("cc", "-O1", "-shared", "-fPIC", "-o", filepath.Join(dir, "libinside.so"), "testdata/inside.c")
	must("cc", "-O1", "-pthread", "-o", exe, "testdata/contained.c", "-L"+dir, "-linside", "-Wl,-rpath,/app")
	libraries := must("sh", "-c", `ldd "$1" | grep -o '/[^ ]*' | grep -v inside`, "sh", exe)
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "--user", "--map-root-user",
		"sh", "-c", enter, "sh", dir, libraries)
	cmd.Stderr = os.Stderr
	testtargets.Ready(t, cmd)
	kids := procs.Children(cmd.Process.Pid)
	if len(kids) != 1 {
		t.Fatalf("children %v", kids)
	}
	return kids[0]
}

func TestProcessInNamespacesOfItsOwn(t *testing.T) {
	pid := contain(t)
	named := func(s *pprof.Sample) bool { return in("burn_inside")(s) && in("made_inside")(s) && in("main")(s) }
	r := recordUntil(t, target.SamplingOptions{}, func(r *recorded) bool {
		return r.count(func(s *pprof.Sample) bool { return s.Value[3] > 0 && named(s) }) >= 20
	}, pid)
	for _, s := range r.Sample {
		names := stack(s)
		if len(names) == 0 {
			continue
		}
		// until the tracer knows how deep stacks are
		cut := names[len(names)-1] == incomplete.Name(frames.StopStackCut.String())
		if s.Value[3] > 0 && in("burn_inside")(s) && !named(s) && !cut {
			t.Errorf("not all callers: %q", names)
		}
	}
	for _, s := range r.Sample {
		innerPID, innerTID, tid := s.NumLabel["ns_pid"], s.NumLabel["ns_tid"], s.NumLabel["tid"][0]
		if len(innerPID) != 1 || innerPID[0] != 1 || len(innerTID) != 1 || (innerTID[0] == 1) != (tid == int64(pid)) {
			t.Errorf("ids inside: %v, %v of thread %d in process %d", innerPID, innerTID, tid, pid)
		}
	}
	for _, l := range r.Location {
		if st := l.Mapping; st != nil && st.File == "/app/libinside.so" && len(l.Line) == 0 {
			t.Errorf("no name at %#x of %s", l.Address, st.File)
		}
	}
}

func TestIDsInsideAreLeftOutWhereTheyAreTheSame(t *testing.T) {
	program := start(t, "mixed", "2")
	r := record(t, target.SamplingOptions{}, 200*time.Millisecond, nil, program.pid)
	for _, s := range r.Sample {
		if len(s.NumLabel["ns_pid"])+len(s.NumLabel["ns_tid"]) > 0 {
			t.Errorf("%v", s.NumLabel)
		}
	}
}
