// SPDX-License-Identifier: Apache-2.0

package managed

import "strings"

// # What threads are there for
//
// A Java virtual machine has threads of its own beside the program's: they collect memory, compile, and serve the
// machine. It names them itself, the same in all runs.

// The roles of threads.
const (
	RoleApplication = "application"
	RoleGC          = "garbage collector"
	RoleCompiler    = "compiler"
	RoleMachine     = "virtual machine"
)

// RoleTeller is a Runtime that tells its own threads from the program's.
type RoleTeller interface {
	// Role gives what a thread is there for, by the number that the process itself knows it by, and the name that it is
	// shown with. It is asked after [ThreadNamer.ThreadName], and reports false while the run-time system is not known
	// well enough.
	Role(tid int, name string) (role string, ok bool)
}

// kernelName is how many bytes of a thread's name the kernel keeps (include/linux/sched.h, TASK_COMM_LEN).
const kernelName = 15

// jvmThreads are the names of a Java virtual machine's threads, JDK 9 to 28. Those that end in "*" go on with a number
// or a word. Serial's collector and JDK 8's collectors are not among them: the one runs in "VM Thread", and JDK 8 gives
// the kernel no names.
var jvmThreads = map[string][]string{
	RoleGC: {
		"GC Thread#*", "G1 *", "ParGC Thread#*", "ZDirector", "ZDriver*", "ZStat", "ZWorker*", "ZUnmapper",
		"ZUncommitter*", "ZRuntimeWorker*", "XDirector", "XDriver*", "XStat", "XWorker*", "XUnmapper",
		"XUncommitter*", "Shenandoah *", "Concurrent Mark-Sweep GC Thread", "Epsilon*",
	},
	RoleCompiler: {"C1 CompilerThre*", "C2 CompilerThre*", "JVMCI CompilerT*", "Libgraal Compil*"},
	RoleMachine: {
		"VM Thread", "VM Periodic Task Thread", "Signal Dispatcher", "Service Thread", "Monitor Deflation Thread",
		"Attach Listener", "Notification Thread", "Sweeper thread", "Reference Handler", "Finalizer", "Common-Cleaner",
		"AsyncLog Thread", "JFR *",
	},
}

// RoleOfJVM gives the role of a thread of a Java virtual machine by its name, which the kernel may have cut.
func RoleOfJVM(thread string) string {
	for role, names := range jvmThreads {
		for _, name := range names {
			begin, open := strings.CutSuffix(name, "*")
			cut := len(thread) == kernelName && strings.HasPrefix(begin, thread)
			if thread == begin && !open || open && strings.HasPrefix(thread, begin) || cut {
				return role
			}
		}
	}
	return RoleApplication
}
