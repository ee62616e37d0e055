package view

import (
	"path/filepath"
	"strings"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/profile"
)

// # What threads are there for
//
// A Java virtual machine has threads of its own beside the program's: they collect memory, compile, and serve the
// machine. It names them itself, the same in all runs. A program that calls one of its threads so is not told apart.

// The roles of threads.
const (
	roleApplication = "application"
	roleGC          = "garbage collector"
	roleCompiler    = "compiler"
	roleMachine     = "virtual machine"
)

// kernelName is how many bytes of a thread's name the kernel keeps (include/linux/sched.h, TASK_COMM_LEN).
const kernelName = 15

// jvmThreads are the names of a Java virtual machine's threads, JDK 9 to 28. Those that end in "*" go on with a number
// or a word. Serial's collector and JDK 8's collectors are not among them: the one runs in "VM Thread", and JDK 8 gives
// the kernel no names.
var jvmThreads = map[string][]string{
	roleGC: {
		"GC Thread#*", "G1 *", "ParGC Thread#*", "ZDirector", "ZDriver*", "ZStat", "ZWorker*", "ZUnmapper",
		"ZUncommitter*", "ZRuntimeWorker*", "XDirector", "XDriver*", "XStat", "XWorker*", "XUnmapper",
		"XUncommitter*", "Shenandoah *", "Concurrent Mark-Sweep GC Thread", "Epsilon*",
	},
	roleCompiler: {"C1 CompilerThre*", "C2 CompilerThre*", "JVMCI CompilerT*", "Libgraal Compil*"},
	roleMachine: {
		"VM Thread", "VM Periodic Task Thread", "Signal Dispatcher", "Service Thread", "Monitor Deflation Thread",
		"Attach Listener", "Notification Thread", "Sweeper thread", "Reference Handler", "Finalizer", "Common-Cleaner",
		"AsyncLog Thread", "JFR *",
	},
}

// roleOfJVM gives the role of a thread of a Java virtual machine by its name, which the kernel may have cut.
func roleOfJVM(thread string) string {
	for role, names := range jvmThreads {
		for _, name := range names {
			begin, open := strings.CutSuffix(name, "*")
			cut := len(thread) == kernelName && strings.HasPrefix(begin, thread)
			if thread == begin && !open || open && strings.HasPrefix(thread, begin) || cut {
				return role
			}
		}
	}
	return roleApplication
}

// findJVMs notes which processes have a Java virtual machine, by the files and the code that their stacks lead through.
func (d *Data) findJVMs() {
	d.jvms = map[int64]bool{}
	is := map[*profile.Mapping]bool{}
	for _, m := range d.Profile.Mapping {
		is[m] = filepath.Base(m.File) == "libjvm.so" || strings.HasPrefix(m.File, "[HotSpot ")
	}
	for _, s := range d.Profile.Sample {
		pid := Number(s, rec.LabelPID)
		for _, l := range s.Location {
			if is[l.Mapping] {
				d.jvms[pid] = true
			}
		}
	}
}

// role gives the role of a sample's thread.
func (d *Data) role(s *profile.Sample) string {
	if !d.jvms[Number(s, rec.LabelPID)] {
		return roleApplication
	}
	return roleOfJVM(Label(s, rec.LabelThread))
}
