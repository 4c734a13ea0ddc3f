import com.hivemq.embedded.EmbeddedHiveMQ;
import java.nio.file.Path;

/** Runs HiveMQ CE in a folder with conf, data and extensions, and prints a line when the broker listens. */
public class HiveMq {
    public static void main(String[] arguments) throws InterruptedException {
        Path folder = Path.of(arguments[0]);
        EmbeddedHiveMQ.builder()
                .withConfigurationFolder(folder.resolve("conf"))
                .withDataFolder(folder.resolve("data"))
                .withExtensionsFolder(folder.resolve("extensions"))
                .build()
                .start()
                .join();
        System.out.println("running");
        Thread.currentThread().join();
    }
}
