// Environment variables that Kubernetes sets in a pod.

/** The variables that the kubelet sets for a Service with one named port. */
export function kubernetesVariables(service: string, host: string, port: string): Record<string, string> {
  const address = `tcp://${host}:${port}`;
  return {
    [`${service}_SERVICE_HOST`]: host,
    [`${service}_SERVICE_PORT`]: port,
    [`${service}_SERVICE_PORT_HTTP`]: port,
    [`${service}_PORT`]: address,
    [`${service}_PORT_${port}_TCP`]: address,
    [`${service}_PORT_${port}_TCP_PROTO`]: "tcp",
    [`${service}_PORT_${port}_TCP_PORT`]: port,
    [`${service}_PORT_${port}_TCP_ADDR`]: host,
  };
}
