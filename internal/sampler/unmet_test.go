package sampler

import (
	"os/exec"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/perfevents"
)

// task makes a record.
func task(kind perfevents.Kind, at int64, pid, parent int) perfevents.Record {
	return perfevents.Record{Kind: kind, Time: at, PID: pid, TID: pid, PPID: parent, PTID: parent}
}

// tell tells records as one drain does.
func (u *unmetProcesses) tell(list ...perfevents.Record) {
	for i := range list {
		u.note(&list[i])
	}
	u.hearAll()
}

// TestProgramOfAnUnmetProcessIsThatOfTheSamplesTime: whatever the order in which the processors' records come, and also
// for a child of a child.
func TestProgramOfAnUnmetProcessIsThatOfTheSamplesTime(t *testing.T) {
	shell := &process{account: &processAccount{}}
	u := &unmetProcesses{known: map[int]*unmet{}, met: map[int]*process{10: shell}}
	execed := task(perfevents.Named, 200, 20, 0)
	execed.Exec, execed.Name = true, []byte("make")
	mapped := task(perfevents.Mapped, 210, 20, 0)
	mapped.Addr, mapped.Len, mapped.Inode, mapped.Name = 0x1000, 0x2000, 7, []byte("/bin/make")
	later := task(perfevents.Mapped, 400, 20, 0)
	later.Addr, later.Len, later.Inode, later.Name = 0x9000, 0x1000, 8, []byte("/lib/c")
	u.tell(later, mapped, execed, task(perfevents.Forked, 300, 30, 20), task(perfevents.Forked, 100, 20, 10),
		task(perfevents.Forked, 100, 99, 98)) // the last one is somebody else's
	if len(u.known) != 2 || u.known[20] == nil || u.known[30] == nil {
		t.Fatalf("%v", u.known)
	}
	p, kid := u.known[20], u.known[30]
	if before := p.at(150); before.of != shell.account || len(before.maps) != 0 {
		t.Errorf("before it called exec: %+v", before)
	}
	if now := p.at(250); now.of != nil || now.name != "make" || len(now.maps) != 2 || now.maps[0].Path != "/bin/make" {
		t.Errorf("afterwards: %+v", now)
	}
	if g := kid.at(350); g.name != "make" || len(g.maps) != 1 || kid.payer != shell {
		t.Errorf("its child: %+v of %v", g, kid.payer)
	}
	u.tell(task(perfevents.Exited, 500, 20, 10))
	if !p.ended || kid.ended {
		t.Error("the end of one is another's")
	}
}

// TestProgramThatWasHandedOverIsNotWritten: the accountant reads it meanwhile.
func TestProgramThatWasHandedOverIsNotWritten(t *testing.T) {
	shell := &process{account: &processAccount{}}
	u := &unmetProcesses{known: map[int]*unmet{}, met: map[int]*process{10: shell}}
	execed := task(perfevents.Named, 200, 20, 0)
	execed.Exec, execed.Name = true, []byte("ls")
	u.tell(task(perfevents.Forked, 100, 20, 10), execed)
	handed := u.known[20].at(300)
	handed.handed = true
	mapped := task(perfevents.Mapped, 400, 20, 0)
	mapped.Addr, mapped.Len = 0x1000, 0x1000
	u.tell(mapped)
	if len(handed.maps) != 0 || len(u.known[20].at(500).maps) != 1 {
		t.Errorf("%v, %v", handed.maps, u.known[20].at(500).maps)
	}
}

func TestUnmetProcessesAreBounded(t *testing.T) {
	u := &unmetProcesses{known: map[int]*unmet{}, met: map[int]*process{10: {account: &processAccount{}}}}
	for i := range 3 * mostUnmet {
		u.tell(task(perfevents.Forked, int64(i), 1000+i, 10))
	}
	if len(u.known) != mostUnmet {
		t.Errorf("%d processes", len(u.known))
	}
	for i := range 3 * mostMappings {
		m := task(perfevents.Mapped, int64(i), 1000, 0)
		m.Addr, m.Len = uint64(i)<<12, 1<<12
		u.tell(m)
	}
	if n := len(u.known[1000].runs.maps); n > mostMappings {
		t.Errorf("%d mappings", n)
	}
}

// TestCommandsOfAScriptHaveFunctions: 400 commands that live for some milliseconds each. No search for children finds
// them in time; the kernel's samples do. Without them, a tenth of the time has a function.
func TestCommandsOfAScriptHaveFunctions(t *testing.T) {
	exe, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	o := sampling(t, 499)
	o.Events.Close()
	if o.Events, err = perfevents.Open(perfevents.Options{Freq: 499, Programs: true}); err != nil {
		t.Fatal(err)
	}
	defer o.Events.Close()
	o.Children = true
	const script = `echo ready; read go; for i in $(seq 200); do /bin/ls /usr/bin | sort >/dev/null; done; echo done; read end`
	want, r := recordToldWith(t, exec.Command(exe, "-c", script), o)
	t.Logf("the kernel says %.2f s; %.3f s are in the profile, %.3f s of short-lived children without a function, %.3f s unseen, "+
		"%d samples", want, r.ProfiledCPU, r.ShortLivedCPU, r.ExitedUnseenCPU, r.Sampled)
	if d := r.ProfiledCPU - want; d < -0.02*want-0.04 || d > 0.02*want+0.04 {
		t.Errorf("%.3f s of %.2f s are in the profile", r.ProfiledCPU, want)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
		t.Errorf("%v s by the kernel, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
	// Who is met late, or reads while the machine has no time, leaves some: a quarter is a bound for a machine that is busy.
	if without := r.ShortLivedCPU + r.ExitedUnseenCPU; without > r.ProfiledCPU/4 {
		t.Errorf("%.3f s of %.3f s have no function", without, r.ProfiledCPU)
	}
	named := func(program string) int64 {
		return r.sumOf(3, func(p *pprof.Sample) bool {
			return label(p, "thread") == "[children: "+program+"]" && label(p, "comm") == "bash" && p.NumLabel["tid"] == nil
		})
	}
	if named("ls") == 0 || named("sort") == 0 {
		t.Errorf("%d ns of ls, %d of sort", named("ls"), named("sort"))
	}
	// Their code is that of their files: the C library starts main.
	if n := r.sumOf(3, func(p *pprof.Sample) bool {
		return strings.HasPrefix(label(p, "thread"), "[children: ls") && in("__libc_start_main_impl")(p)
	}); n == 0 {
		t.Error("no stack of ls reaches the C library's start")
	}
}
