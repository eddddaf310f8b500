// Fetch.java: prints what an address of the web gives; the second argument is the certificate of who signed for it.
import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public class Fetch {
        public static void main(String[] arguments) throws Exception {
                KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
                store.load(null, null);
                try (FileInputStream file = new FileInputStream(arguments[1])) {
                        store.setCertificateEntry("lab", CertificateFactory.getInstance("X.509").generateCertificate(file));
                }
                TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
                trust.init(store);
                SSLContext context = SSLContext.getInstance("TLS");
                context.init(null, trust.getTrustManagers(), null);
                HttpClient client = HttpClient.newBuilder().sslContext(context).connectTimeout(Duration.ofSeconds(10)).build();
                HttpRequest request = HttpRequest.newBuilder(URI.create(arguments[0])).build();
                System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
        }
}
