// SPDX-License-Identifier: Apache-2.0

// Package runtimes is the list of the run-time systems that prywalk knows. Each is a folder below this one, behind the
// interfaces of package managed.
package runtimes

import (
	"prywalk/internal/managed"
	"prywalk/internal/runtimes/cpython"
	"prywalk/internal/runtimes/gdbjit"
	"prywalk/internal/runtimes/golang"
	"prywalk/internal/runtimes/hosted"
	"prywalk/internal/runtimes/hotspot"
)

// List has the detectors in the order in which they are asked: those who know their code by name before those who take
// what nobody has adopted. Of each kind at most one run-time system is found in a
// process. It must not change once a process has been opened.
var List = []managed.Detector{hotspot.Detect, cpython.Detect, gdbjit.Detect, hosted.Detect,
	hosted.DetectHaskell, golang.Detect}
