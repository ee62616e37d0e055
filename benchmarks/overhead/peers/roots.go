// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"slices"
	"strings"

	"prywalk/internal/bench/tools"
)

// pythonRoot: a Python thread's first function: of the main thread the program itself (python -m: its runner), of
// others that of package threading, before 3.11 without a class.
func pythonRoot(name string, mainThread bool) bool {
	if mainThread {
		return name == "<module>" || name == "_run_module_as_main"
	}
	return name == "_bootstrap" || name == "Thread._bootstrap"
}

// javaRoots begin a thread: java.lang.Thread's methods, and those of the JDK's own threads and launcher.
var javaRoots = []string{
	"java/lang/Thread.run", "java/lang/ref/Reference$ReferenceHandler.run", "java/lang/ref/Finalizer$FinalizerThread.run",
	"jdk/internal/misc/InnocuousThread.run", "java/util/concurrent/ForkJoinWorkerThread.run",
	"sun/launcher/LauncherHelper.checkAndLoadMain",
}

// jvmRoot: a method of javaRoots, the program's main, or a native function.
func jvmRoot(name string) bool {
	return slices.Contains(javaRoots, name) || strings.HasSuffix(name, ".main") || name == "thread_native_entry" ||
		tools.IsRoot(name)
}
