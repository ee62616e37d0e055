import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/** Stacks FILE...: the execution samples of the flight recorder as lines "[thread];outermost;…;innermost count". */
public final class Stacks {
    public static void main(String[] args) throws Exception {
        Map<String, Integer> counts = new HashMap<>();
        for (String file : args) {
            Path path = Paths.get(file);
            for (RecordedEvent e : RecordingFile.readAllEvents(path)) {
                if (e.getEventType().getName().endsWith("ExecutionSample")) {
                    counts.merge(line(e), 1, Integer::sum);
                }
            }
        }
        counts.forEach((line, n) -> System.out.println(line + " " + n));
    }

    private static String line(RecordedEvent e) {
        RecordedThread thread = e.getThread("sampledThread");
        StringBuilder s = new StringBuilder("[" + (thread == null ? "" : thread.getJavaName()) + "]");
        RecordedStackTrace stack = e.getStackTrace();
        if (stack == null) {
            return s + ";[none]";
        }
        if (stack.isTruncated()) {
            s.append(";[cut]");
        }
        List<RecordedFrame> frames = stack.getFrames();
        for (int i = frames.size() - 1; i >= 0; i--) {
            RecordedFrame f = frames.get(i);
            String name = f.getMethod().getType().getName() + "." + f.getMethod().getName();
            s.append(";").append(name).append(f.isJavaFrame() ? "_[j]" : "");
        }
        return s.toString();
    }
}

// SPDX-License-Identifier: Apache-2.0
