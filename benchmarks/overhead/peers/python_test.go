// SPDX-License-Identifier: Apache-2.0

package peers

import "testing"

func TestStacksOfPySpyAreCompleteWhereTheyReachTheFirstPythonFunction(t *testing.T) {
	if samples, complete := pySpyStacks(written(t, "pyspy.txt"), "22850"); samples != 267 || complete != 267 {
		t.Errorf("%d stacks, %d complete", samples, complete)
	}
	for line, complete := range map[string]int64{
		"thread (5): Thread-1 (work);Thread._bootstrap (threading.py:1002);work (a.py:3) 2": 2,
		"thread (5): Thread-1;_bootstrap (threading.py:890) 2":                              2,
		"thread (5): Thread-1;work (a.py:3);mix (a.py:1) 2":                                 0,
		"thread (5): Thread-1;<module> (a.py:3) 2":                                          0,
		"thread (5): Thread-1 2":                                                            0,
		"thread (9);<module> (a.py:3) 2":                                                    2,
		"thread (9): MainThread;_run_module_as_main (<frozen runpy>:198) 2":                 2,
		"thread (9): MainThread;_bootstrap (threading.py:890) 2":                            0,
		"thread (0x7f12): MainThread;<module> (a.py:3) 2":                                   2,
	} {
		if samples, got := pySpyStacks([]byte(line), "9"); samples != 2 || got != complete {
			t.Errorf("%s: %d stacks, %d complete", line, samples, got)
		}
	}
}

func TestStacksOfAustinAreCompleteWhereTheyReachTheFirstPythonFunction(t *testing.T) {
	if samples, complete := austinStacks(written(t, "austin.txt")); samples != 6 || complete != 3 {
		t.Errorf("%d stacks, %d complete", samples, complete)
	}
	for line, complete := range map[string]int64{
		"P9;T0:5;/a b;c/threading.py:_bootstrap:890 77": 0,
		"P9;T0:5;/a b:c/threading.py:_bootstrap:890 77": 1,
		"P9;T5;threading.py:_bootstrap:890 77":          1,
		"P9;T0:9;a.py:<module>:1 77":                    1,
		"P9;T0:5;a.py:<module>:1 77":                    0,
		"P9;T0:5 77":                                    0,
		"P":                                             0,
		"P9;;a.py:<module>:1 77":                        0,
	} {
		if samples, got := austinStacks([]byte(line)); samples != 1 || got != complete {
			t.Errorf("%s: %d stacks, %d complete", line, samples, got)
		}
	}
}

func FuzzOutputOfPySpy(f *testing.F) {
	f.Add(written(f, "pyspy.txt"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if samples, complete := pySpyStacks(text, "22850"); samples < 0 || complete > samples {
			t.Errorf("%d stacks, %d complete", samples, complete)
		}
	})
}

func FuzzOutputOfAustin(f *testing.F) {
	f.Add(written(f, "austin.txt"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if samples, complete := austinStacks(text); samples < 0 || complete > samples {
			t.Errorf("%d stacks, %d complete", samples, complete)
		}
	})
}
