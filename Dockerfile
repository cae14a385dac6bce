# docker build -t rehearse .
# docker run --rm -v "$PWD:/data" rehearse run my-scenario.json
FROM debian:12 AS build
COPY . /rehearse
WORKDIR /rehearse
RUN ./rehearse package

FROM debian:12
COPY --from=build /rehearse/build/packages/rehearse.deb /rehearse.deb
RUN apt-get update && apt-get install -y --no-install-recommends /rehearse.deb python3-minimal && rm -rf /rehearse.deb /var/lib/apt/lists/*
WORKDIR /data
ENTRYPOINT ["rehearse"]
CMD ["help"]
