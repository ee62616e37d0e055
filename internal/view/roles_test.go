package view

import (
	"testing"
)

// TestThreadsOfAJavaMachineAreToldFromThePrograms: by the names that it gives them, whole or as the kernel cuts them.
func TestThreadsOfAJavaMachineAreToldFromThePrograms(t *testing.T) {
	for name, want := range map[string]string{
		"GC Thread#11": roleGC, "G1 Conc#0": roleGC, "G1 Main Marker": roleGC, "G1 Service": roleGC, "ZWorkerYoung#1": roleGC,
		"ZDriverMajor": roleGC, "Shenandoah GC T": roleGC, "Shenandoah Cont": roleGC, "Concurrent Mark": roleGC,
		"C2 CompilerThre": roleCompiler, "C1 CompilerThread0": roleCompiler,
		"VM Thread": roleMachine, "VM Periodic Tas": roleMachine, "Signal Dispatch": roleMachine,
		"Signal Dispatcher": roleMachine, "Monitor Deflati": roleMachine, "Finalizer": roleMachine,
		"JFR Recorder Th": roleMachine,
		"main":            roleApplication, "http-nio-8080-exec-1": roleApplication,
		"VM": roleApplication, "": roleApplication,
		"GC Thread": roleApplication, "G1": roleApplication, "Finalizer-2": roleApplication, "C2": roleApplication,
	} {
		if got := roleOfJVM(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
