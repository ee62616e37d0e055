// SPDX-License-Identifier: Apache-2.0

package languages

import "testing"

func TestThreadsOfTheJVMAreNotTheProgramsThreads(t *testing.T) {
	for want, names := range map[string][]string{
		RoleGC: {
			"GC Thread#11", "G1 Conc#0", "G1 Main Marker", "G1 Service", "ZWorkerYoung#1", "ZDriverMajor", "Shenandoah GC T",
			"Shenandoah Cont", "Concurrent Mark",
		},
		RoleCompiler: {"C2 CompilerThre", "C1 CompilerThread0"},
		RoleMachine: {
			"VM Thread", "VM Periodic Tas", "Signal Dispatch", "Signal Dispatcher", "Monitor Deflati", "Finalizer",
			"JFR Recorder Th",
		},
		RoleApplication: {
			"main", "http-nio-8080-exec-1", "VM", "", "GC Thread", "G1", "Finalizer-2", "C2",
		},
	} {
		for _, name := range names {
			if got := JVMThread(name); got != want {
				t.Errorf("%q: %s, want %s", name, got, want)
			}
		}
	}
}

func TestStubsOfTheJVMAreItsLibrary(t *testing.T) {
	for function, want := range map[string]bool{
		"StubRoutines::checkcast_arraycopy": true, "itable stub": true, "vtable stub": true, "call_stub": true,
		"com.example.table": false, "Stub.run": false,
	} {
		if JavaLibrary(function) != want {
			t.Errorf("%s: library %v", function, !want)
		}
	}
}
