// SPDX-License-Identifier: Apache-2.0

// Package container names the container and the pod that a process runs in. The container's id is in the path of the
// process's control group; names are in files that engines write for themselves. No engine is asked: its socket would
// give more rights than reading, and another dependency.
//
// # Files
//
// For the id ID, relative to the root of this process and then of process 1 (the host, for an agent in a container with
// the host's pid namespace):
//
//   - /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log, a link of the kubelet, of every engine.
//   - config.json of the OCI runtime, whose annotations name pod and container (containerd, CRI-O).
//   - config.v2.json of Docker, and containers.json of containers/storage (Podman), of root and of the user whose slice
//     the control group is in.
//
// Sources: github.com/opencontainers/runtime-spec/config.md; containerd pkg/cri/annotations; cri-o pkg/annotations;
// moby daemon/container; containers/storage containers.go; kubernetes pkg/kubelet/kuberuntime/legacy.go.
package container
