// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"slices"
	"strings"

	"prywalk/benchmarks/bench/tools"
)

// pythonRoot reports whether a name is that of a Python thread's first function: of the main thread the program, of
// others a function of package threading. Versions before 3.11 have no class in the name.
func pythonRoot(name string, mainThread bool) bool {
	if mainThread {
		return name == "<module>" || name == "_run_module_as_main"
	}
	return name == "_bootstrap" || name == "Thread._bootstrap"
}

var javaRoots = []string{
	"java/lang/Thread.run", "java/lang/ref/Reference$ReferenceHandler.run", "java/lang/ref/Finalizer$FinalizerThread.run",
	"jdk/internal/misc/InnocuousThread.run", "java/util/concurrent/ForkJoinWorkerThread.run",
	"sun/launcher/LauncherHelper.checkAndLoadMain",
}

// jvmRoot accepts a method of javaRoots, the program's main, or a native function.
func jvmRoot(name string) bool {
	return slices.Contains(javaRoots, name) || strings.HasSuffix(name, ".main") || name == "thread_native_entry" ||
		tools.IsRoot(name)
}
