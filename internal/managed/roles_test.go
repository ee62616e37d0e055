// SPDX-License-Identifier: Apache-2.0

package managed

import "testing"

// TestThreadsOfAJavaMachineAreToldFromThePrograms: by the names that it gives them, whole or as the kernel cuts them.
func TestThreadsOfAJavaMachineAreToldFromThePrograms(t *testing.T) {
	for name, want := range map[string]string{
		"GC Thread#11": RoleGC, "G1 Conc#0": RoleGC, "G1 Main Marker": RoleGC, "G1 Service": RoleGC, "ZWorkerYoung#1": RoleGC,
		"ZDriverMajor": RoleGC, "Shenandoah GC T": RoleGC, "Shenandoah Cont": RoleGC, "Concurrent Mark": RoleGC,
		"C2 CompilerThre": RoleCompiler, "C1 CompilerThread0": RoleCompiler,
		"VM Thread": RoleMachine, "VM Periodic Tas": RoleMachine, "Signal Dispatch": RoleMachine,
		"Signal Dispatcher": RoleMachine, "Monitor Deflati": RoleMachine, "Finalizer": RoleMachine,
		"JFR Recorder Th": RoleMachine,
		"main":            RoleApplication, "http-nio-8080-exec-1": RoleApplication,
		"VM": RoleApplication, "": RoleApplication,
		"GC Thread": RoleApplication, "G1": RoleApplication, "Finalizer-2": RoleApplication, "C2": RoleApplication,
	} {
		if got := RoleOfJVM(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
